import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { alertFile, alertRules } from '../../src/dashboard/alerts.js';
import { grafanaDashboard } from '../../src/dashboard/grafana.js';
import { rows } from '../../src/dashboard/panels.js';
import { metricsOfAllRoles, type ExportedMetric } from '../support/exported_metrics.js';
import { parseQuery } from '../support/promql.js';

/** Labels that Prometheus adds to everything that it reads */
const added = ['job', 'instance'];

/** Returns what is wrong with a query, and with the labels that a text about its result names. */
function faultsOf(expr: string, metrics: ReadonlyMap<string, ExportedMetric>, named: readonly string[]): string[] {
  const { valid, selected, result } = parseQuery(expr);
  const faults = valid && selected.length > 0 ? [] : ['it is no query'];
  const available = new Set(result ?? added);
  for (const { metric, labels, counted } of selected) {
    const known: ExportedMetric | undefined =
      metric === 'up' ? { type: 'gauge', labels: new Set() } : metrics.get(metric);
    if (!known) faults.push(`no node exports ${metric}`);
    else if (!known.labels) faults.push(`${metric} has no sample`);
    else {
      if (counted !== ['counter', 'histogram'].includes(known.type)) faults.push(`${metric} is a ${known.type}`);
      const own = [...known.labels, ...added];
      for (const label of labels) if (!own.includes(label)) faults.push(`${metric} has no label ${label}`);
      if (!result) for (const label of own) available.add(label);
    }
  }
  for (const label of named) if (!available.has(label)) faults.push(`its result has no label ${label}`);
  return faults;
}

const panelsOf = z.object({
  panels: z.array(
    z.object({
      id: z.number(),
      type: z.string(),
      title: z.string(),
      gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
    }),
  ),
});

const namesIn = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, name]) => name!);

it('the queries of dashboard and alerts ask for what nodes export', async () => {
  const metrics = await metricsOfAllRoles();
  for (const { title, queries } of rows.flatMap(({ panels }) => panels))
    for (const { expr, legend } of queries)
      expect([title, expr, ...faultsOf(expr, metrics, namesIn(legend, /\{\{(\w+)\}\}/g))]).toEqual([title, expr]);
  for (const { alert, expr, annotations } of alertRules()) {
    const named = namesIn(Object.values(annotations).join(' '), /\$labels\.(\w+)/g);
    expect([alert, expr, ...faultsOf(expr, metrics, named)]).toEqual([alert, expr]);
  }
});

describe('what the test of queries finds', () => {
  const metrics = new Map<string, ExportedMetric>([
    ['a_total', { type: 'counter', labels: new Set(['route']) }],
    ['b', { type: 'gauge', labels: new Set() }],
    ['c', { type: 'gauge', labels: undefined }],
  ]);

  it.each([
    ['sum by (route) (rate(a_total{job="x"}[5m])) / sum(b) > 0.1', []],
    ['b{', ['it is no query']],
    ['rate(a_total)[5m]', ['it is no query']],
    ['b[5m]', ['it is no query']],
    ['rate(b_total[5m])', ['no node exports b_total']],
    ['rate(a_total{status="5"}[5m])', ['a_total has no label status']],
    ['sum by (status) (rate(a_total[5m]))', ['a_total has no label status', 'its result has no label route']],
    ['sum(rate(a_total[5m]))', ['its result has no label route']],
    ['sum by (route) (a_total)', ['a_total is a counter']],
    ['sum by (route) (rate(c[5m]))', ['c has no sample']],
  ])('%s', (expr, faults) => {
    const named = faults.includes('its result has no label route') || faults.length === 0 ? ['route'] : [];
    expect(faultsOf(expr, metrics, named)).toEqual(faults);
  });
});

describe('the alert rules', () => {
  const duration = z.string().regex(/^\d+(?:ms|[smhdwy])$/);
  const ruleFile = z.strictObject({
    groups: z.array(
      z.strictObject({
        name: z.string().min(1),
        rules: z.array(
          z.strictObject({
            alert: z.string().regex(/^Sheaf[A-Z]\w+$/),
            expr: z.string(),
            for: duration,
            labels: z.strictObject({ severity: z.enum(['critical', 'warning']) }),
            annotations: z.strictObject({ summary: z.string().min(10), description: z.string().min(10) }),
          }),
        ),
      }),
    ),
  });

  it('have the form that Prometheus reads', () => {
    const { groups } = ruleFile.parse(parse(alertFile()));
    expect(groups.map(({ rules }) => rules)).toEqual([alertRules()]);
    const names = alertRules().map(({ alert }) => alert);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('the dashboard', () => {
  it('has a row for each subject, and no panel over another one', () => {
    const { panels } = panelsOf.parse(grafanaDashboard());
    const titles = panels.filter(({ type }) => type === 'row').map(({ title }) => title);
    expect(titles).toEqual([
      ...['Traffic', 'Errors', 'Latency', 'Saturation', 'Workers', 'Fleet'],
      ...['Upstreams and backends', 'Tunnels', 'Channels'],
    ]);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)} ${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBe(24);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  });
});

describe('the files of the package', () => {
  const file = (name: string) => readFile(new URL(`../../dashboards/${name}`, import.meta.url), 'utf8');

  it('are what the command prints', async () => {
    expect(JSON.parse(await file('sheaf.json'))).toEqual(grafanaDashboard());
    expect(parse(await file('sheaf.rules.yaml'))).toEqual(parse(alertFile()));
  });
});
