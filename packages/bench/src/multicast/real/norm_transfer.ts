import { join } from 'node:path';
import { buildWithCmake } from '../../process/cmake.js';
import { finerProcessorSeconds } from '../../process/processor_time.js';
import { Program } from '../../process/program.js';
import { peersDirectory } from '../../process/workspace.js';
import { DEVICE } from './lan.js';
import { hostOf, secondsSince, type Open } from './transfer.js';

const GROUP = ['239.96.1.2', '5497'];

/** Builds the program on libnorm. Its transfers have a sender and receivers, each in a process of its own. @throws UserError */
export async function prepareNorm(): Promise<Open> {
  const home = join(peersDirectory, 'multicast-norm');
  await buildWithCmake(home, join(home, 'target'), [], 'multicast-norm');
  const program = join(home, 'target', 'multicast-norm');
  return async ({ lan, plan, file, copies, own }) => {
    const receivers = copies.map((copy, index) => {
      // The sender is node 1.
      const words = ['receive', ...GROUP, DEVICE, String(index + 2), copy];
      return own(new Program([program, ...words], hostOf(lan.receivers, index)));
    });
    const words = ['send', ...GROUP, DEVICE, String(plan.rate_mbps), String(copies.length), file];
    const source = own(new Program([program, ...words], lan.source));
    await Promise.all([...receivers, source].map((each) => each.prints(/^ready$/)));
    return {
      async send() {
        const begun = performance.now();
        source.write('send');
        await Promise.all(receivers.map((each) => each.prints(/^complete$/)));
        return secondsSince(begun);
      },
      source: () => finerProcessorSeconds([source.pid]),
      receivers: () => finerProcessorSeconds(receivers.map(({ pid }) => pid)),
    };
  };
}
