/** Chrome's order of streams under HTTP/2: one chain, sorted by level, and within a level by age */
export class ExclusiveChain {
  /** Nodes by level, oldest first, since a set keeps the order of insertion */
  private readonly levels: Set<number>[];

  constructor(levels: number) {
    this.levels = Array.from({ length: levels }, () => new Set<number>());
  }

  /** Puts the node behind the youngest node of its own or a more important level. Returns that node, or 0. */
  add(node: number, level: number): number {
    this.remove(node);
    let parent = 0;
    for (let index = level; index >= 0 && parent === 0; index -= 1) {
      for (const member of this.levels[index] ?? []) parent = member;
    }
    this.levels[level]?.add(node);
    return parent;
  }

  remove(node: number): void {
    for (const members of this.levels) members.delete(node);
  }
}
