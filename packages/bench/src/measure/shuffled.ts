import { seededRandom } from '../pages/content/random.js';

/** Shuffles (Fisher and Yates), in the same way for the same seed. */
export function shuffled<Value>(values: readonly Value[], seed: number): Value[] {
  const random = seededRandom(`order ${seed}`);
  const order = [...values];
  for (let end = order.length - 1; end > 0; end -= 1) {
    const chosen = random() % (end + 1);
    [order[end], order[chosen]] = [order[chosen]!, order[end]!];
  }
  return order;
}
