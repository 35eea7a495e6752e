import { element, escapeText } from '../../pages/report/markup.js';
import { isRerunnable } from '../artefact/artefact.js';
import { inOrder, truthsInOrder, type MeasuredFigure } from '../verdict/predicate.js';
import { isFailure, verdicts, type Verdict } from '../verdict/verdict.js';
import { drawPlot, type Drawing } from './plot.js';
import { pageStyle } from './style.js';
import type { ArtefactView, QuantityTable, ReportedView } from './view.js';
import { figureText, measuredText } from './words.js';

/** Number of figures that a claim shows without being asked */
const shownFigures = 6;

/** Number of places that the first lines name for a claim */
const leadPlaces = 2;

/** Renders one page that loads nothing else. */
export async function htmlReport(views: readonly ReportedView[]): Promise<string> {
  const rerunnable = views.filter(({ artefact }) => isRerunnable(artefact));
  const papers = [...new Set(rerunnable.map(({ artefact }) => artefact.paper))];
  const sections = await Promise.all(
    papers.map(async (paper) => {
      const own = rerunnable.filter(({ artefact }) => artefact.paper === paper);
      return element('section', {}, element('h2', {}, escapeText(paper)), ...(await Promise.all(own.map(articleOf))));
    }),
  );
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">',
    `<title>Published figures beside ours</title><style>${pageStyle}</style></head><body><main>`,
    element('h1', {}, 'Published figures beside ours'),
    leadOf(views),
    countsOf(views),
    contentsOf(rerunnable),
    ...sections,
    restOf(views),
    '</main></body></html>\n',
  ].join('\n');
}

/**
 * Writes what a reader should know first: how the claims ended, which of them do not hold, and which cannot be
 * told, each with the places where the value lies beyond the claim's bound.
 */
function leadOf(views: readonly ArtefactView[]): string {
  const claims = views
    .filter(({ result }) => result !== undefined)
    .flatMap(({ artefact: { id, title }, claims: own }) => own.map((claim) => ({ id, title, ...claim })));
  // What contradicts a paper comes before marks of our own.
  const failed = (['contradicted', 'missed'] as const).flatMap((wanted) =>
    claims.filter(({ verdict }) => verdict === wanted),
  );
  const open = claims.filter(({ verdict }) => verdict === 'cannot be told' || verdict === 'tie');
  return [
    element('p', { class: 'lead' }, escapeText(summaryOf(views, claims))),
    ...(failed.length > 0 ? [element('h2', {}, 'These claims do not hold')] : []),
    listOf(failed, ({ truth }) => truth === 'fails'),
    ...(open.length > 0
      ? [element('h2', {}, 'Neither shown nor refuted'), listOf(open, ({ beyond }) => beyond > 0)]
      : []),
  ].join('');
}

type LeadClaim = ArtefactView['claims'][number] & { id: string; title: string };

function summaryOf(views: readonly ArtefactView[], claims: readonly LeadClaim[]): string {
  const stale = views.filter((view) => view.stale).length;
  const unmeasured = views.filter(({ artefact, result }) => isRerunnable(artefact) && !result).length;
  const count = (wanted: Verdict): number => claims.filter(({ verdict }) => verdict === wanted).length;
  const parts = [
    `${count('reproduced')} reproduced from the papers`,
    `${count('met')} of our own met`,
    `${count('contradicted')} contradicted`,
    `${count('missed')} missed`,
    ...(count('tie') > 0 ? [`${count('tie')} tied`] : []),
    ...(count('cannot be told') > 0 ? [`${count('cannot be told')} open`] : []),
    ...(count('not comparable') > 0 ? [`${count('not comparable')} not comparable`] : []),
  ];
  return [
    ...(claims.length > 0 ? [`${counted(claims.length, 'claim', 'claims')}: ${parts.join(', ')}.`] : []),
    ...(claims.length > 0 && !claims.some(({ verdict }) => isFailure(verdict))
      ? ['No measured claim is refuted.']
      : []),
    ...(stale > 0
      ? [
          `${counted(stale, 'result is older than the code that it', 'results are older than the code that they')} measured.`,
        ]
      : []),
    ...(unmeasured > 0 ? [`${counted(unmeasured, 'artefact is', 'artefacts are')} not measured yet.`] : []),
  ].join(' ');
}

const counted = (count: number, one: string, several: string): string => `${count} ${count === 1 ? one : several}`;

/** Lists claims with their places, the worst first. */
function listOf(claims: readonly LeadClaim[], isWanted: (figure: MeasuredFigure) => boolean): string {
  if (claims.length === 0) return '';
  const items = claims.map(({ id, title, text, verdict, measured }) => {
    const places = inOrder(measured).filter(isWanted);
    const more = places.length > leadPlaces ? `; and ${places.length - leadPlaces} more` : '';
    const shown = places.slice(0, leadPlaces).map((place) => place.text);
    return element(
      'li',
      {},
      chip(verdict),
      ' ',
      element('a', { href: `#${id}` }, escapeText(text)),
      element('p', { class: 'note' }, escapeText(`${[`${title} (${id})`, ...shown].join('; ')}${more}`)),
    );
  });
  return element('ul', { class: 'failed' }, ...items);
}

/** Links to every artefact that was measured, with its verdict. */
function contentsOf(views: readonly ArtefactView[]): string {
  const items = views.map(({ artefact, verdict }) =>
    element('li', {}, element('a', { href: `#${artefact.id}` }, escapeText(artefact.id)), ' ', chip(verdict)),
  );
  return element('ul', { class: 'contents' }, ...items);
}

function countsOf(views: readonly ArtefactView[]): string {
  const items = verdicts.flatMap((verdict) => {
    const count = views.filter((view) => view.verdict === verdict).length;
    return count === 0 ? [] : [element('li', {}, element('b', {}, String(count)), verdict)];
  });
  return element('ul', { class: 'counts' }, ...items);
}

const chip = (name: string): string => element('span', { class: `chip ${name.replaceAll(' ', '-')}` }, name);

async function articleOf(view: ReportedView): Promise<string> {
  const { artefact, result, stale, verdict, claims, tables, sources } = view;
  const header = element(
    'header',
    {},
    element('h3', {}, escapeText(artefact.title)),
    chip(verdict),
    ...(stale ? [chip('stale')] : []),
  );
  const about = [
    element('p', { class: 'note' }, escapeText(`${artefact.artefact} · ${artefact.id}`)),
    element('p', {}, escapeText(artefact.shows)),
  ];
  if (!isRerunnable(artefact)) return '';
  const plots = await Promise.all(
    artefact.plots.map(async (plot) => {
      const table = tables.find(({ quantity }) => quantity === plot.quantity);
      return table ? figureWith(`${plot.title} [${table.unit}]`, await drawPlot(plot, table), table) : '';
    }),
  );
  return element(
    'article',
    { id: artefact.id },
    header,
    ...about,
    claimsOf(claims),
    ...plots,
    ...tables.map(tableOf),
    element(
      'p',
      { class: 'note' },
      escapeText(`Published: ${sources.join('; ')}. Network: ${artefact.setup.network}.`),
    ),
    ...artefact.deviations.map(({ what, why, effect }) =>
      element('p', { class: 'note' }, escapeText(`Differs: ${what}. Why: ${why}. Expected effect: ${effect}.`)),
    ),
    ...(result
      ? [element('p', { class: 'note' }, escapeText(measuredText(result, view.virtualTime)))]
      : [element('p', { class: 'note' }, 'Not measured yet.')]),
    ...(result?.skipped ?? []).map((text) => element('p', { class: 'note' }, escapeText(`Skipped: ${text}`))),
  );
}

function figureWith(title: string, drawing: Drawing, { statistic, rows }: QuantityTable): string {
  const { kind, panels, legend, columns, hasIntervals, hasPublished } = drawing;
  if (panels.length === 0) return '';
  const runs = Math.min(...rows.map(({ ours }) => ours.n));
  const notes = [
    `${statistic} of ${runs} ${runs === 1 ? 'run' : 'runs'}`,
    ...(hasIntervals ? [runs >= 5 ? 'lines: 95 % intervals' : 'lines: range of the runs'] : []),
    ...(hasPublished ? [kind === 'distribution' ? 'dashed: published curves' : 'diamonds: published values'] : []),
  ];
  const names = legend.map(({ label, colour }) =>
    element('li', {}, element('i', { style: `background:${colour}` }), escapeText(label)),
  );
  return element(
    'figure',
    {},
    element('h4', {}, escapeText(title)),
    element('ul', { class: 'legend' }, ...names),
    element(
      'div',
      { class: 'panels', style: `--columns:${columns}` },
      ...panels.map((panel) =>
        element('div', {}, ...(panel.title === '' ? [] : [element('h5', {}, escapeText(panel.title))]), panel.svg),
      ),
    ),
    element('figcaption', {}, escapeText(`${notes.join('; ')}.`)),
  );
}

/** Lists the artefacts that do not run here, one per line. */
function restOf(views: readonly ArtefactView[]): string {
  const rows = views.flatMap(({ artefact, verdict }) => {
    if (isRerunnable(artefact)) return [];
    const why = artefact.state === 'not built' ? `waits for ${artefact.waits_for}` : artefact.why;
    const cells = [artefact.id, artefact.title, artefact.shows].map((text) => element('td', {}, escapeText(text)));
    return [element('tr', {}, ...cells, element('td', {}, chip(verdict)), element('td', {}, escapeText(why)))];
  });
  if (rows.length === 0) return '';
  const table = element('table', { class: 'rest' }, element('tbody', {}, ...rows));
  return element('section', {}, element('h2', {}, 'Without a result'), element('article', { class: 'scroll' }, table));
}

function claimsOf(claims: ArtefactView['claims']): string {
  const items = claims.map(({ text, verdict, measured, why }) =>
    element(
      'li',
      {},
      `${chip(verdict)} ${escapeText(text)}`,
      ...(why === undefined ? [] : [element('p', { class: 'note' }, escapeText(why))]),
      ...truthsInOrder.map((truth) => {
        const figures = inOrder(measured).filter((figure) => figure.truth === truth);
        if (figures.length <= shownFigures) return figuresOf(figures);
        return element(
          'details',
          {},
          element('summary', {}, `${figures.length} figures: ${truth}`),
          figuresOf(figures),
        );
      }),
    ),
  );
  return element('ul', { class: 'claims' }, ...items);
}

function figuresOf(figures: ArtefactView['claims'][number]['measured']): string {
  if (figures.length === 0) return '';
  const lines = figures.map(({ text, truth }) => (truth === 'holds' ? text : `${text} (${truth})`));
  return element('ul', {}, ...lines.map((line) => element('li', {}, escapeText(line))));
}

function tableOf({ name, unit, statistic, normalisation, rows }: QuantityTable): string {
  const relative = normalisation === 'none' ? '' : `, relative to ${normalisation}`;
  const head = ['', 'arm', 'ours', 'to baseline', 'published', 'to baseline'].map((title) => element('th', {}, title));
  const body = rows.map((row) =>
    element(
      'tr',
      {},
      ...[
        row.place,
        row.label,
        figureText(row.ours),
        row.oursToBaseline ? figureText(row.oursToBaseline) : '',
        row.published === undefined ? '' : String(row.published),
        row.publishedToBaseline === undefined ? '' : String(row.publishedToBaseline),
      ].map((text) => element('td', {}, escapeText(text))),
    ),
  );
  return element(
    'details',
    {},
    element('summary', {}, escapeText(`${name} [${unit}], ${statistic} of the runs${relative}`)),
    element(
      'div',
      { class: 'scroll' },
      element('table', {}, element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...body)),
    ),
  );
}
