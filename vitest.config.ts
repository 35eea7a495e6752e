import { defineConfig } from 'vitest/config';

const tests = 'packages/*/test/**/*.test.ts';

/** Most of their time goes into waiting for links of a few megabits, timeouts and peers: each takes a third of a core or less. */
const waiting = [
  'packages/bench/test/loss/download.test.ts',
  'packages/cli/test/multi_end*.test.ts',
  'packages/gateway/test/listeners/{hostile_http,transport}.test.ts',
  'packages/gateway/test/multi_end/backend/unread_responses.test.ts',
  'packages/gateway/test/multi_end/client/direct.test.ts',
  'packages/gateway/test/nodes/edge/edge.test.ts',
  'packages/gateway/test/slow_clients/*.test.ts',
];

export default defineConfig({
  test: {
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: { name: 'waiting', include: waiting, maxWorkers: 4, sequence: { groupOrder: 0 } },
      },
      {
        extends: true,
        // Tests open sockets and start gateways: two cores are kept busy by few of them.
        test: { name: 'working', include: [tests], exclude: waiting, maxWorkers: 2, sequence: { groupOrder: 1 } },
      },
    ],
  },
});
