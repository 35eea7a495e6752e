import type { Artefact, Claim, Rerunnable } from '../artefact/artefact.js';
import type { Result } from '../results/result.js';
import { all, evaluate, type MeasuredFigure, type Truth } from './predicate.js';

export const verdicts = [
  'reproduced',
  'contradicted',
  'met',
  'missed',
  'tie',
  'cannot be told',
  'not comparable',
  'cannot be rerun',
  'not built',
] as const;
export type Verdict = (typeof verdicts)[number];

/** Returns whether the results refute a claim of the paper, or miss a mark of our own. */
export const isFailure = (verdict: Verdict): boolean => verdict === 'contradicted' || verdict === 'missed';

export interface ClaimVerdict {
  text: string;
  published: Claim['published'];
  verdict: Verdict;
  /** Figures that decided */
  measured: MeasuredFigure[];
  /** Why there are none */
  why?: string;
  /** Arms that the claim is about and that were not measured, or not at every place */
  missing: string[];
}

/** Returns the verdict of the results on each claim of an artefact. */
export function claimVerdicts(artefact: Rerunnable, result: Result | undefined): ClaimVerdict[] {
  return artefact.claims.map((claim): ClaimVerdict => {
    const { text, published, not_comparable: why } = claim;
    if (why !== undefined) return { text, published, verdict: 'not comparable', measured: [], why, missing: [] };
    if (!result)
      return { text, published, verdict: 'cannot be told', measured: [], why: 'not measured yet', missing: [] };
    const findings = claim.predicates.map((predicate) => evaluate(predicate, artefact.quantities, result.cells));
    const truth = all(findings.map(({ truth: each }) => each));
    const missing = [...new Set(findings.flatMap((finding) => finding.missing))];
    return {
      text,
      published,
      verdict: verdictOf(truth, published),
      measured: findings.flatMap(({ measured }) => measured),
      ...(missing.length > 0 && { why: `not measured: ${missing.map((arm) => labelOf(artefact, arm)).join(', ')}` }),
      missing,
    };
  });
}

const labelOf = ({ setup }: Rerunnable, arm: string): string => setup.arms[arm]?.label ?? arm;

function verdictOf(truth: Truth, published: Claim['published']): Verdict {
  if (truth === 'unknown') return 'cannot be told';
  if (truth === 'tie') return 'tie';
  // The mark is our own, since the paper makes no statement about it.
  if (published === 'not said') return truth === 'holds' ? 'met' : 'missed';
  return (truth === 'holds') === (published === 'holds') ? 'reproduced' : 'contradicted';
}

/** Returns the worst verdict of the artefact's claims. */
export function artefactVerdict(artefact: Artefact, claims: readonly ClaimVerdict[]): Verdict {
  if (artefact.state === 'not built' || artefact.state === 'cannot be rerun') return artefact.state;
  const inOrder: Verdict[] = ['contradicted', 'missed', 'cannot be told', 'not comparable', 'tie', 'reproduced', 'met'];
  return inOrder.find((verdict) => claims.some((claim) => claim.verdict === verdict)) ?? 'cannot be told';
}
