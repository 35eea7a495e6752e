import { parse, View } from 'vega';
import { compile, type TopLevelSpec } from 'vega-lite';
import type { Plot } from '../artefact/artefact.js';
import type { QuantityTable } from './view.js';

/** Eight colors that color-blind readers can distinguish. They follow the page, light or dark. */
const colours = Array.from({ length: 8 }, (_, index) => `var(--series-${index})`);
const ink = 'var(--ink)';
const soft = 'var(--soft)';
const line = 'var(--line)';

/** Draws a table as SVG, with intervals as whiskers and published values as hollow diamonds. */
export async function drawPlot(plot: Plot, table: QuantityTable): Promise<string> {
  const { spec } = compile(specificationOf(plot, table));
  const view = new View(parse(spec), { renderer: 'none' });
  try {
    return await view.toSVG();
  } finally {
    view.finalize();
  }
}

function specificationOf({ kind, arms, x, facet, row, logarithmic }: Plot, table: QuantityTable): TopLevelSpec {
  const rows = table.rows.filter(({ arm }) => arms.includes(arm));
  const values = rows.map(({ at, label, ours, published }) => ({
    ...at,
    arm: label,
    value: ours.value,
    low: ours.interval?.[0] ?? ours.value,
    high: ours.interval?.[1] ?? ours.value,
    published: published ?? null,
  }));
  const lines = kind === 'lines';
  const across = lines
    ? { field: x, type: 'quantitative' as const, scale: { type: 'log' as const } }
    : { field: x, type: 'nominal' as const, sort: null, axis: { labelAngle: 0 } };
  const offset = lines ? {} : { xOffset: { field: 'arm', sort: null } };
  const scale = { type: logarithmic ? ('log' as const) : ('linear' as const) };
  const up = { field: 'value', type: 'quantitative' as const, title: `${table.name} [${table.unit}]`, scale };
  const color = { field: 'arm', type: 'nominal' as const, sort: null, title: null, scale: { range: colours } };
  const layer = [
    {
      mark: lines ? { type: 'line' as const, point: true } : { type: 'bar' as const, tooltip: true },
      encoding: { x: across, ...offset, y: up, color },
    },
    {
      mark: { type: 'rule' as const, color: ink },
      encoding: {
        x: across,
        ...offset,
        y: { field: 'low', type: 'quantitative' as const, scale },
        y2: { field: 'high' },
      },
    },
    {
      mark: { type: 'point' as const, shape: 'diamond', size: 45, filled: false, stroke: ink, strokeWidth: 1.5 },
      encoding: { x: across, ...offset, y: { field: 'published', type: 'quantitative' as const, scale } },
    },
  ];
  // Vega-Lite sorts the names of facets unless it gets their order.
  const orderOf = (axis: string): (string | number)[] => [...new Set(rows.map(({ at }) => at[axis] ?? ''))];
  const header = (axis: string) => ({ field: axis, type: 'nominal' as const, sort: orderOf(axis), title: null });
  const single = { width: lines ? 420 : { step: 9 }, height: 170, layer };
  const faceted =
    facet === undefined && row === undefined
      ? single
      : {
          facet: {
            ...(facet !== undefined && { column: header(facet) }),
            ...(row !== undefined && { row: header(row) }),
          },
          spec: single,
          resolve: { scale: { y: 'independent' as const } },
        };
  return { ...faceted, data: { values }, background: 'transparent', config: theme } as TopLevelSpec;
}

const theme = {
  font: 'system-ui, sans-serif',
  view: { stroke: null },
  axis: {
    labelColor: soft,
    titleColor: soft,
    gridColor: line,
    domainColor: line,
    tickColor: line,
    titleFontWeight: 500,
  },
  header: { labelColor: ink, labelFontWeight: 600 },
  legend: { labelColor: ink, labelLimit: 260, orient: 'top', columns: 4 },
};
