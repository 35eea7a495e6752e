import { find, write } from '../elements.js';
import type { DemoTree } from './demo_tree.js';
import type { Rates } from './tree_history.js';

/** A rate below which a way counts as still: the first packets after a silence */
const STILL = 1;

/** Shows which way packets take from the gateway to the edge. */
export function drawTree({ tree, channel, edge }: DemoTree, rates: Rates | undefined): void {
  const drawing = find<SVGElement>('tree');
  drawing.classList.toggle('cut', tree.cut);
  const byGroup = (rates?.group ?? 0) + (rates?.repairs ?? 0);
  const byCopies = rates?.copies ?? 0;
  drawing.classList.toggle('by-group', byGroup >= STILL && !tree.cut);
  drawing.classList.toggle('by-copies', byCopies >= STILL);
  write('tree-rate', tree.cut ? 'cut' : `${byGroup.toFixed(0)} packets/s`);
  write('copies-rate', `${byCopies.toFixed(0)} packets/s`);
  write('receivers', `${channel?.receivers ?? 0} edges`);
  const viewers = edge?.viewers ?? 0;
  write('viewers', `${viewers} ${viewers === 1 ? 'viewer' : 'viewers'}`);
}
