import { parser } from '@prometheus-io/lezer-promql';

type SyntaxNode = ReturnType<(typeof parser)['parse']>['topNode'];

/** A metric in a query, with what the query says of its labels */
export interface Selected {
  metric: string;
  /** Labels by which it is chosen, or by which an aggregation groups it */
  labels: string[];
  /** Whether a function takes it that only makes sense for a counter */
  counted: boolean;
  /** Whether a function takes it that needs a range */
  taken: boolean;
  /** Whether a range of time is chosen of it */
  ranged: boolean;
}

export interface ParsedQuery {
  /** Whether all of it is PromQL */
  valid: boolean;
  selected: Selected[];
  /** Labels that the result has; undefined when it has those of its metrics */
  result: string[] | undefined;
}

const ofCounters = new Set(['rate', 'increase']);
const ofRanges = new Set([...ofCounters, 'changes', 'avg_over_time']);

/** Parses a query as Prometheus does. Variables of Grafana are replaced before. */
export function parseQuery(text: string): ParsedQuery {
  const query = text.replaceAll('$__rate_interval', '5m');
  const { topNode } = parser.parse(query);
  const parsed: ParsedQuery = { valid: true, selected: [], result: undefined };
  topNode.cursor().iterate((node) => {
    if (node.type.isError) parsed.valid = false;
    if (node.name !== 'VectorSelector') return;
    const selected = selectedBy(node.node, query);
    parsed.selected.push(selected);
    // The grammar takes any argument for any function.
    if (selected.taken !== selected.ranged) parsed.valid = false;
  });
  const outer = descend(topNode, 'AggregateExpr');
  parsed.result = outer && labelsIn(outer.getChild('AggregateModifier'), query);
  return parsed;
}

function selectedBy(selector: SyntaxNode, query: string): Selected {
  const metric = selector.getChild('Identifier');
  const labels = labelsIn(selector.getChild('LabelMatchers'), query);
  const ranged = selector.parent?.name === 'MatrixSelector';
  let [counted, taken] = [false, false];
  for (let node = selector.parent; node; node = node.parent) {
    if (node.name === 'AggregateExpr') labels.push(...labelsIn(node.getChild('AggregateModifier'), query));
    const called = node.name === 'FunctionCall' ? node.getChild('FunctionIdentifier') : null;
    const name = called ? query.slice(called.from, called.to) : '';
    counted ||= ofCounters.has(name);
    taken ||= ofRanges.has(name);
  }
  return { metric: metric ? query.slice(metric.from, metric.to) : '', labels, counted, taken, ranged };
}

/** The names of labels below a node */
function labelsIn(node: SyntaxNode | null, query: string): string[] {
  const labels: string[] = [];
  node?.cursor().iterate((each) => {
    if (each.name === 'LabelName') labels.push(query.slice(each.from, each.to));
    return true;
  });
  return labels;
}

/** The first node of this name, from the outside to the inside and from left to right */
function descend(from: SyntaxNode, name: string): SyntaxNode | undefined {
  let found: SyntaxNode | undefined;
  from.cursor().iterate((node) => {
    if (!found && node.name === name) found = node.node;
    return !found;
  });
  return found;
}
