import { machineLine } from '../../measure/machine.js';
import type { Summary } from '../../measure/statistics.js';
import { labelOf } from '../simulation/schedulers.js';
import { findingLines, groupCells } from './tables.js';
import type { ReportData } from './report_data.js';

const row = (values: readonly string[]): string => `| ${values.join(' | ')} |`;

/** The report as a document: what was found, then a table for each page, tree and level. */
export function markdownReport({ machine, parameters, missing, findings, cells }: ReportData): string {
  const { runs, seed, clients } = parameters;
  const head = ['scheduler', 'page load time', 'median', 'p95', 'over the bound', 'critical set', 'object', 'byte index', 'lost', ...(clients > 1 ? ['fairness'] : []), 'published'];
  const sections = groupCells(cells).map(({ page, tree, level, cells: group }) => [
    `## ${page}, ${tree}, ${level}`,
    `Lower bound: ${group[0]?.lower_bound_ms ?? 0} ms. Times in milliseconds; means with their 95 % confidence intervals.`,
    [
      row(head),
      row(head.map(() => '---')),
      ...group.map((cell) =>
        row([
          labelOf(cell.scheduler),
          withInterval(cell.plt_ms),
          cell.plt_ms.median.toFixed(1),
          cell.plt_ms.p95.toFixed(1),
          cell.over_bound.toFixed(3),
          withInterval(cell.critical_ms),
          withInterval(cell.object_ms),
          withInterval(cell.byte_index_ms),
          `${cell.lost_percent} %`,
          ...(clients > 1 ? [cell.fairness?.toFixed(3) ?? ''] : []),
          cell.published ? `${cell.published.mean_ms} (median ${cell.published.median_ms}, n = ${cell.published.runs})` : '',
        ]),
      ),
    ].join('\n'),
  ]);
  return [
    '# Page loads over several paths, simulated',
    `${runs} runs a cell with the seeds ${seed} to ${seed + runs - 1}${clients > 1 ? `, ${clients} clients at one time` : ''}. ${machineLine(machine)}.`,
    ...(missing > 0 ? [`${missing} cells were not measured.`] : []),
    '## Findings',
    findings.map((finding) => findingLines(finding).map((line, index) => (index === 0 ? `- ${line}` : `  - ${line.trim()}`)).join('\n')).join('\n'),
    ...sections.flat(),
  ].join('\n\n').concat('\n');
}

function withInterval({ mean, ci95 }: Summary): string {
  return ci95 ? `${mean.toFixed(1)} ± ${((ci95[1] - ci95[0]) / 2).toFixed(1)}` : mean.toFixed(1);
}
