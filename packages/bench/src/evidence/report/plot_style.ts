/** Eight colors that color-blind readers can distinguish. They follow the page, light or dark. */
export const colours = Array.from({ length: 8 }, (_, index) => `var(--series-${index})`);
export const ink = 'var(--ink)';
const soft = 'var(--soft)';
const line = 'var(--line)';

/** Width of a panel's plot in pixels, which a phone has room for, and its height */
export const panelSize = { width: 300, height: 170 };

export const theme = {
  font: 'system-ui, sans-serif',
  view: { stroke: null },
  axis: {
    labelColor: soft,
    titleColor: soft,
    gridColor: line,
    domainColor: line,
    tickColor: line,
    titleFontWeight: 500,
    labelFontSize: 11,
    titleFontSize: 11,
  },
};

/** Gives arms, by their labels, the colors of the legend. */
export const colorOf = (labels: readonly string[]): object => ({
  field: 'arm',
  type: 'nominal',
  scale: { domain: labels, range: colours.slice(0, labels.length) },
  legend: null,
});
