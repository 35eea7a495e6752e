import { machineLine } from '../../measure/machine.js';
import { labelOf } from '../simulation/schedulers.js';
import { findingLines, groupCells } from './tables.js';
import { intervalOf, type ReportCell, type ReportData, type ReportSummary } from './report_data.js';

const row = (values: readonly string[]): string => `| ${values.join(' | ')} |`;

/** Renders the report as a document: findings, then a table for each page, tree and level. */
export function markdownReport<Cell extends ReportCell>(data: ReportData<Cell>): string {
  const { title, about, machine, missing, findings, cells, measures, columns, headline, bound } = data;
  const [main, ...others] = measures;
  if (!main) throw new RangeError('a report needs a measure');
  const head = [
    'scheduler',
    main.title,
    headline === 'mean' ? 'median' : 'mean',
    'p95',
    ...others.map((measure) => measure.title),
    ...columns.map((column) => column.title),
  ];
  const sections = groupCells(cells).map(({ page, tree, level, cells: group }) => [
    `## ${page}, ${tree}, ${level}`,
    `${bound && group[0] ? `Lower bound: ${bound(group[0])} ms. ` : ''}Times in milliseconds; ${headline}s with their 95 % confidence intervals.`,
    [
      row(head),
      row(head.map(() => '---')),
      ...group.map((cell) => {
        const { mean, median, p95 } = main.of(cell);
        return row([
          labelOf(cell.scheduler),
          withInterval(main.of(cell), headline),
          (headline === 'mean' ? median : mean).toFixed(1),
          p95.toFixed(1),
          ...others.map((measure) => withInterval(measure.of(cell), headline)),
          ...columns.map((column) => column.of(cell)),
        ]);
      }),
    ].join('\n'),
  ]);
  return [
    `# ${title}`,
    `${about} ${machineLine(machine)}.`,
    ...(missing === undefined ? [] : [missing]),
    '## Findings',
    findings
      .map((finding) =>
        findingLines(finding)
          .map((line, index) => (index === 0 ? `- ${line}` : `  - ${line.trim()}`))
          .join('\n'),
      )
      .join('\n'),
    ...sections.flat(),
  ]
    .join('\n\n')
    .concat('\n');
}

function withInterval(summary: ReportSummary, headline: ReportData['headline']): string {
  const value = summary[headline].toFixed(1);
  const interval = intervalOf(summary, headline);
  if (!interval) return value;
  // The interval of a median is not symmetric.
  return headline === 'mean'
    ? `${value} ± ${((interval[1] - interval[0]) / 2).toFixed(1)}`
    : `${value} (${interval[0].toFixed(0)} to ${interval[1].toFixed(0)})`;
}
