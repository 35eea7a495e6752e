import { seededRandom } from '../pages/content/random.js';

/** Values by which connection ids name a worker */
const values = 256;

/** How evenly connections are divided among workers */
export interface Placement {
  workers: number;
  connections: number;
  /** Connections of the worker that has most of them, as a multiple of the mean */
  busiest: number;
  /** The same if each of the values led to a worker of its own choice, instead of the rest of a division */
  busiest_by_chance: number;
}

/** Divides connections among workers as a group of them does: by the rest of a random value. */
export function placementOf(workers: number, connections: number): Placement {
  const numbers = seededRandom(`placement ${workers}`);
  const below = (limit: number): number => Math.floor((numbers() / 2 ** 32) * limit);
  const busiest = (choose: () => number): number => {
    const counts = new Array<number>(workers).fill(0);
    for (let connection = 0; connection < connections; connection += 1) counts[choose()]! += 1;
    return Math.max(...counts) / (connections / workers);
  };
  return {
    workers,
    connections,
    busiest: busiest(() => below(values) % workers),
    busiest_by_chance: busiest(() => below(workers)),
  };
}
