/** Intervals in milliseconds by which a fleet works */
export interface FleetTimes {
  /** Between heartbeats of a node */
  beat: number;
  /** Silence after which a node is suspect: three missing heartbeats */
  suspect: number;
  /** Silence after which a node is gone */
  gone: number;
  /** Time for a watch to tell what this process wrote itself, before it counts as dead */
  echo: number;
  /** Between comparisons of what watches told with what is there */
  audit: number;
  /** Between copies on disk, unless something important changed */
  copy: number;
}

export const fleetTimes: FleetTimes = {
  beat: 1_000,
  suspect: 3_000,
  gone: 30_000,
  echo: 3_000,
  audit: 10_000,
  copy: 60_000,
};
