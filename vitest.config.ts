import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const tests = 'packages/*/test/**/*.test.ts';

/** The longest ones, which begin first, so that no core waits for them at the end */
const longest = [
  // This one builds programs, which uses both cores.
  'packages/bench/test/multi_end/simulated_backends.test.ts',
  'packages/cli/test/multi_end_proxied.test.ts',
  'packages/cli/test/greedy_clients.test.ts',
  'packages/cli/test/direct_return_faults.test.ts',
  'packages/bench/test/interop/backends/clients.test.ts',
  'packages/gateway/test/registry/cluster.test.ts',
  'packages/gateway/test/nodes/fleet/killed.test.ts',
  'packages/cli/test/multi_end_faults_shared_keys.test.ts',
  'packages/cli/test/multi_end_faults_path_keys.test.ts',
  'packages/gateway/test/upgrade/under_load.test.ts',
  'packages/gateway/test/nodes/reload/under_load.test.ts',
  'packages/gateway/test/slow_clients/client_timeouts.test.ts',
  'packages/cli/test/process.test.ts',
  'packages/gateway/test/multi_end/backend/unread_responses.test.ts',
  'packages/gateway/test/slow_clients/greedy_clients.test.ts',
  'packages/bench/test/loss/download.test.ts',
  'packages/gateway/test/workers/steering.test.ts',
  'packages/bench/test/interop/modules.test.ts',
  'packages/bench/test/interop/chromium.test.ts',
  'packages/bench/test/direct_return/bench/direct_return_bench.test.ts',
  'packages/cli/test/multi_end.test.ts',
  'packages/cli/test/several_interfaces.test.ts',
  'packages/cli/test/upgrade.test.ts',
  'packages/gateway/test/listeners/hostile_http.test.ts',
  'packages/gateway/test/upgrade/generations.test.ts',
  'packages/gateway/test/workers/multi_end.test.ts',
  'packages/bench/test/fleet/fleet_bench.test.ts',
  'packages/bench/test/interop/floods/floods.test.ts',
  'packages/bench/test/interop/firefox.test.ts',
  'packages/bench/test/interop/firefox_site.test.ts',
  'packages/bench/test/multicast/multicast_bench.test.ts',
  'packages/gateway/test/direct_return/gateway/returned.test.ts',
  'packages/cli/test/channels.test.ts',
  'packages/cli/test/media_channel.test.ts',
  'packages/bench/test/interop/noq.test.ts',
  'packages/bench/test/pages/real/browser_pages.test.ts',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const place = ({ moduleId }: TestSpecification): number => {
      const index = longest.findIndex((file) => moduleId.endsWith(file));
      return index < 0 ? longest.length : index;
    };
    const group = ({ project }: TestSpecification): number => project.config.sequence.groupOrder;
    return sorted.sort((a, b) => group(a) - group(b) || place(a) - place(b));
  }
}

/** Most of their time goes into waiting for links of a few megabits, timeouts and peers. They begin beside the others' longest. */
const waiting = [
  'packages/bench/test/fleet/fleet_bench.test.ts',
  'packages/bench/test/loss/download.test.ts',
  'packages/cli/test/direct_return_faults.test.ts',
];

/**
 * The longest tests of these folders wait, too, and the others are short: they begin beside those that wait, so that both runs take
 * as long.
 */
const folders = [
  'gateway/test',
  'native/test',
  'web-client/test',
  'bench/test/evidence',
  'bench/test/http',
  'bench/test/measure',
];
const short = folders.flatMap((name) => {
  const directory = join('packages', name);
  const files = readdirSync(join(import.meta.dirname, directory), { recursive: true, encoding: 'utf8' });
  return files.filter((file) => file.endsWith('.test.ts')).map((file) => join(directory, file));
});

/** A module that is replaced must not be loaded yet, and would stay for other files. */
const replacesModules = (file: string): boolean =>
  /\bvi\.(do)?mock\(/i.test(readFileSync(join(import.meta.dirname, file), 'utf8'));

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // Timing never fails a test: on a busy machine a process may not run for seconds.
    expect: { poll: { timeout: 30_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'waiting',
          include: [...waiting, ...short.filter(replacesModules)],
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        // Hundreds of files load the same modules. One process loads them once.
        test: {
          name: 'short',
          include: short.filter((file) => !replacesModules(file)),
          isolate: false,
          restoreMocks: true,
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        // Tests open sockets and start gateways: two cores are kept busy by few of them. Each of the longest uses a third of one.
        test: {
          name: 'working',
          include: [tests],
          exclude: [...waiting, ...short],
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
