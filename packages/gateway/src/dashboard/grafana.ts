import { rows, type Panel } from './panels.js';

/** Grafana divides the width into so many columns. */
const columns = 24;
const panelWidth = columns / 3;
const panelHeight = 8;

const datasource = { type: 'prometheus', uid: '${datasource}' };

interface Place {
  x: number;
  y: number;
  w: number;
  h: number;
}

function timeseries(id: number, { title, unit, queries, description }: Panel, gridPos: Place): object {
  return {
    id,
    type: 'timeseries',
    title,
    ...(description === undefined ? {} : { description }),
    datasource,
    gridPos,
    fieldConfig: { defaults: { unit, min: 0, custom: { fillOpacity: 8, showPoints: 'never' } }, overrides: [] },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: queries.map(({ expr, legend: legendFormat }, index) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + index),
      datasource,
      expr,
      legendFormat,
    })),
  };
}

/** Places rows one below the other, with three panels in a line. */
function placedPanels(): object[] {
  const placed: object[] = [];
  let y = 0;
  for (const { title, panels } of rows) {
    placed.push({
      id: placed.length + 1,
      type: 'row',
      title,
      collapsed: false,
      gridPos: { x: 0, y, w: columns, h: 1 },
      panels: [],
    });
    y += 1;
    for (const [index, panel] of panels.entries()) {
      const x = (index * panelWidth) % columns;
      if (index > 0 && x === 0) y += panelHeight;
      placed.push(timeseries(placed.length + 1, panel, { x, y, w: panelWidth, h: panelHeight }));
    }
    y += panelHeight;
  }
  return placed;
}

function choice(name: string, label: string, query: string): object {
  return {
    name,
    label,
    type: 'query',
    datasource,
    query: { query, refId: name },
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { text: ['All'], value: ['$__all'] },
  };
}

/** Returns the dashboard of Sheaf's nodes in the form that Grafana imports. */
export function grafanaDashboard(): object {
  return {
    uid: 'sheaf',
    title: 'Sheaf',
    tags: ['sheaf'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    timezone: 'browser',
    time: { from: 'now-1h', to: 'now' },
    refresh: '30s',
    templating: {
      list: [
        { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
        choice('job', 'Job', 'label_values(sheaf_build_info, job)'),
        choice('instance', 'Node', 'label_values(sheaf_build_info{job=~"$job"}, instance)'),
      ],
    },
    panels: placedPanels(),
  };
}
