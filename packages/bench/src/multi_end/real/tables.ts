import type { ResultTable } from '../../experiment.js';
import { round } from '../../measure/statistics.js';
import { percent, type RealFinding } from './findings.js';
import type { CpuCell, RealBackends } from './real_backends.js';

/** Renders tables for people: processor time in each direction next to the proxy's, then the findings. */
export function realTables({ cpu, uploads, skipped }: RealBackends, findings: readonly RealFinding[]): ResultTable[] {
  return [
    { ...table('downloads', cpu), notes: skipped.map(({ delivery, reason }) => `skipped ${delivery}: ${reason}`) },
    {
      ...table('uploads', uploads),
      notes: [
        "Seconds of processor time, medians and quartiles; primary: Caddy in the last rows, which proxies HTTP/3 to the backends' HTTP/1.1 without TLS.",
        'Ratios: to proxying by the same gateway. Share: of the bytes, between clients and backends.',
      ],
    },
    {
      head: ['finding', 'holds', 'why'],
      rows: findings.map(({ claim, holds, why }) => [claim, holds ? 'holds' : 'does not hold', why]),
      notes: [],
    },
  ];
}

function table(what: string, cells: readonly CpuCell[]): Pick<ResultTable, 'head' | 'rows'> {
  return {
    head: [
      what,
      'backends',
      'primary s',
      'ratio',
      'connecting s',
      'backends s',
      'ratio',
      'sum s',
      'ratio',
      'wall s',
      'share',
      'runs',
    ],
    rows: cells.map((cell) => {
      const proxy = cells.find(({ delivery, backends }) => delivery === 'proxy' && backends === cell.backends) ?? cell;
      const sum = (of: CpuCell): number => of.primary_cpu_s + of.backends_cpu_s;
      return [
        cell.delivery,
        String(cell.backends),
        spread(cell, 'primary_cpu_s'),
        percent(cell.primary_cpu_s / proxy.primary_cpu_s),
        String(cell.connecting_cpu_s),
        spread(cell, 'backends_cpu_s'),
        percent(cell.backends_cpu_s / proxy.backends_cpu_s),
        String(round(sum(cell), 3)),
        percent(sum(cell) / sum(proxy)),
        spread(cell, 'wall_s'),
        percent(cell.backends_share),
        String(cell.runs),
      ];
    }),
  };
}

function spread(cell: CpuCell, name: keyof CpuCell['quartiles']): string {
  const [low, high] = cell.quartiles[name].map((value) => round(value, 3));
  return `${round(cell[name], 3)} (${low} to ${high})`;
}
