import type { Page } from './page.js';
import { WARM_FILES, type Network } from './network.js';
import type { PriorityTree } from './priority_trees.js';
import type { SchedulerChoice } from './schedulers.js';

export interface PageSetting {
  page: Page;
  tree: PriorityTree;
  network: Network;
  scheduler: SchedulerChoice;
}

/** Describes the setting in the format of pages_bench, which documents it. */
export function describeSetting({ page, tree, network, scheduler }: PageSetting): string {
  const lines = [
    `schedulers ${scheduler.streams ?? scheduler.name} ${scheduler.paths} ${Number(scheduler.repeatsLate ?? false)} ${scheduler.controller ?? 'olia'}`,
    `server ${network.server_mbps}`,
    ...network.links.map(({ mbps, delay_ms, jitter_ms, loss_percent }) =>
      [
        'link',
        ...mbps,
        delay_ms,
        jitter_ms,
        loss_percent / 100,
        network.loss_correlation,
        network.jitter_correlation,
        network.queue_bytes,
        Number(network.netem),
      ].join(' '),
    ),
    `warm ${WARM_FILES.count} ${WARM_FILES.bytes}`,
    ...tree.groups.map(({ node, parent, weight }) => `group ${node} ${parent} ${weight}`),
    ...page.resources.map(({ bytes }, index) => {
      const request = tree.requests[index];
      if (!request) throw new RangeError('a resource has no priority');
      const { urgency, incremental, dependency } = request;
      return [
        'resource',
        bytes,
        urgency,
        Number(incremental),
        dependency.node,
        dependency.parent,
        dependency.weight,
        Number(dependency.exclusive),
      ].join(' ');
    }),
  ];
  return `${lines.join('\n')}\n`;
}
