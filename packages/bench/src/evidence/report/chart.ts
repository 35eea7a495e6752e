import type { TopLevelSpec } from 'vega-lite';
import type { Plot } from '../artefact/artefact.js';
import { colorOf, ink, panelSize, theme } from './plot_style.js';
import { axisOf, scaleOf } from './scale.js';
import type { Row } from './view.js';

/** Length of a name beside bars. Longer ones stand at the left of bars that lie. */
const longestName = 14;
/** Thickness of a bar that lies */
const barStep = 8;

export interface PanelRows {
  own: readonly Row[];
  /** Rows whose values the scale has room for */
  scaled: readonly Row[];
  /** Labels of all arms, in the order of their colors */
  labels: readonly string[];
  unit: string;
}

/** Describes bars, or lines over an axis, with intervals as whiskers and published values as hollow diamonds. */
export function chartOf({ kind, x, logarithmic }: Plot, { own, scaled, labels }: PanelRows): TopLevelSpec {
  const values = own.map(({ at, label, ours, published }) => ({
    ...at,
    arm: label,
    value: ours.value,
    low: ours.interval?.[0] ?? ours.value,
    high: ours.interval?.[1] ?? ours.value,
    published: published ?? null,
  }));
  const places = [...new Set(own.map(({ at, label }) => (x === 'arm' ? label : (at[x] ?? ''))))];
  const isLine = kind === 'lines';
  const isLying = !isLine && places.some((place) => String(place).length > longestName);
  const nominal = { field: x, type: 'nominal' as const, sort: places, title: null };
  const across = isLine
    ? {
        field: x,
        type: 'quantitative' as const,
        title: x,
        scale: { type: 'log' as const, nice: false },
        axis: { values: places, format: '~s', grid: false, labelOverlap: true },
      }
    : { ...nominal, axis: { labelAngle: 0, labelLimit: 260, ticks: false, domain: false } };
  const measure = { type: 'quantitative' as const, scale: scaleOf(scaled.flatMap(valuesOf), logarithmic) };
  const up = { ...measure, field: 'value', title: null, axis: axisOf(measure.scale) };
  const [main, other, offset, other2] = isLying
    ? (['y', 'x', 'yOffset', 'x2'] as const)
    : (['x', 'y', 'xOffset', 'y2'] as const);
  const beside = isLine || x === 'arm' ? {} : { [offset]: { field: 'arm', sort: labels } };
  const mark = isLine
    ? { type: 'line' as const, point: { size: 34 }, strokeWidth: 2.2 }
    : { type: 'bar' as const, cornerRadiusEnd: 2 };
  const count = places.length * new Set(own.map(({ arm }) => arm)).size;
  return {
    width: panelSize.width,
    height: isLying ? Math.max(panelSize.height, count * barStep) : panelSize.height,
    layer: [
      { mark, encoding: { [main]: across, [other]: up, ...beside, color: colorOf(labels) } },
      {
        mark: { type: 'rule' as const, color: ink, strokeOpacity: 0.75 },
        encoding: { [main]: across, ...beside, [other]: { ...measure, field: 'low' }, [other2]: { field: 'high' } },
      },
      {
        mark: { type: 'point' as const, shape: 'diamond', size: 50, filled: false, stroke: ink, strokeWidth: 1.6 },
        encoding: { [main]: across, ...beside, [other]: { ...measure, field: 'published' } },
      },
    ],
    data: { values },
    background: 'transparent',
    config: theme,
  } as unknown as TopLevelSpec;
}

/** Returns a figure with the ends of its interval and the published value. */
const valuesOf = ({ ours: { value, interval }, published }: Row): number[] => [
  value,
  ...(interval ?? []),
  ...(published === undefined ? [] : [published]),
];
