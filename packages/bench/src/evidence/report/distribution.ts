import type { TopLevelSpec } from 'vega-lite';
import type { Plot } from '../artefact/artefact.js';
import type { PanelRows } from './chart.js';
import { colorOf, panelSize, theme } from './plot_style.js';
import { axisOf, scaleOf } from './scale.js';

/** Shares with a label and a grid line, in percent */
const shareTicks = [0, 25, 50, 75, 100];

/**
 * Describes cumulative curves: the figure goes across, and the share in percent, which is the axis `x` of the plot, goes
 * up. Published curves are dashed, in the colors of their arms.
 */
export function distributionOf(
  { x: share, logarithmic }: Plot,
  { own, scaled, labels, unit }: PanelRows,
): TopLevelSpec {
  const values = own.map(({ at, label, ours, published }) => ({
    share: at[share],
    arm: label,
    value: ours.value,
    published: published ?? null,
  }));
  const scale = scaleOf(
    scaled.flatMap(({ ours, published }) => [ours.value, published ?? ours.value]),
    logarithmic,
  );
  const across = { type: 'quantitative', scale, title: unit, axis: axisOf(scale) };
  const up = {
    field: 'share',
    type: 'quantitative',
    scale: { domain: [0, 100] },
    title: share,
    axis: { values: shareTicks, labelExpr: "datum.label + ' %'" },
  };
  const curve = (field: string, mark: object): object => ({
    transform: [{ filter: `isValid(datum.${field})` }],
    mark: { type: 'line', ...mark },
    // A line goes from left to right by default, whatever the order of the shares.
    encoding: { x: { ...across, field }, y: up, order: { field: 'share' }, color: colorOf(labels) },
  });
  return {
    ...panelSize,
    layer: [curve('value', { strokeWidth: 2.2 }), curve('published', { strokeWidth: 1.6, strokeDash: [5, 4] })],
    data: { values },
    background: 'transparent',
    config: theme,
  } as unknown as TopLevelSpec;
}
