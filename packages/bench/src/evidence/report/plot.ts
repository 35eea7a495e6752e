import { parse, View } from 'vega';
import { compile, type TopLevelSpec } from 'vega-lite';
import type { Plot } from '../artefact/artefact.js';
import { matchesAxes } from '../verdict/figure.js';
import { chartOf } from './chart.js';
import { distributionOf } from './distribution.js';
import { colours, ink } from './plot_style.js';
import type { QuantityTable, Row } from './view.js';

/** One panel of a plot: a value of each axis that divides the plot */
export interface Panel {
  title: string;
  svg: string;
}

/** A plot in panels, so that a page can arrange them in the room that it has */
export interface Drawing {
  kind: Plot['kind'];
  panels: Panel[];
  /** Names of the arms and their colors */
  legend: { label: string; colour: string }[];
  /** Number of panels beside each other that belong to one value of the rows' axis */
  columns: number;
  hasPublished: boolean;
  hasIntervals: boolean;
}

/** Draws a table as panels in SVG. */
export async function drawPlot(plot: Plot, table: QuantityTable): Promise<Drawing> {
  const rows = table.rows.filter(({ arm, at }) => plot.arms.includes(arm) && matchesAxes(at, plot.where));
  const valuesOf = (axis: string | undefined): (string | number)[] =>
    axis === undefined ? [''] : [...new Set(rows.map(({ at }) => at[axis] ?? ''))];
  const [columns, lines] = [valuesOf(plot.facet), valuesOf(plot.row)];
  const labels = [...new Set(rows.map(({ label }) => label))];
  const isAt = ({ at }: Row, axis: string | undefined, value: string | number): boolean =>
    axis === undefined || at[axis] === value;
  const specificationOf = plot.kind === 'distribution' ? distributionOf : chartOf;
  const panels: Panel[] = [];
  for (const lineValue of lines) {
    for (const column of columns) {
      // Panels of one column share a scale, so that their bars can be compared.
      const scaled = rows.filter((row) => isAt(row, plot.facet, column));
      const own = scaled.filter((row) => isAt(row, plot.row, lineValue));
      if (own.length === 0) continue;
      const title = [column, lineValue].filter((text) => text !== '').join(', ');
      panels.push({ title, svg: await svgOf(specificationOf(plot, { own, scaled, labels, unit: table.unit })) });
    }
  }
  return {
    kind: plot.kind,
    panels,
    legend: labels.map((label, index) => ({ label, colour: colours[index] ?? ink })),
    columns: columns.length,
    hasPublished: rows.some(({ published }) => published !== undefined),
    // Curves lie close to each other, so their intervals would hide them.
    hasIntervals: plot.kind !== 'distribution' && rows.some(({ ours }) => ours.interval !== undefined),
  };
}

async function svgOf(specification: TopLevelSpec): Promise<string> {
  const view = new View(parse(compile(specification).spec), { renderer: 'none' });
  try {
    return await view.toSVG();
  } finally {
    view.finalize();
  }
}
