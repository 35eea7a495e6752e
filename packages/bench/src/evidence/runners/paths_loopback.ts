import { z } from 'zod';
import { downloadOnce, LIBRARIES, openDownloads } from '../../paths/real_paths.js';
import { finishRounds, type RoundSample } from './rounds.js';
import { addonSources, armsOf, parseSettings, runnerModule, type Runner } from './runner.js';

const optionsSchema = z.strictObject({
  /** Bytes of a download */
  bytes: z.number().int().min(1_000_000),
  /** Numbers of paths */
  paths: z.array(z.number().int().min(1).max(8)).min(1),
});

const settingsSchema = z.strictObject({ server: z.enum(LIBRARIES), client: z.enum(LIBRARIES) });

/** Measures downloads over several paths on loopback with Sheaf and noq as server and client, in turns. */
export const pathsLoopback: Runner = {
  name: 'paths-loopback',
  realTime: true,
  seeded: false,
  sources: [
    runnerModule('paths_loopback.ts'),
    ...addonSources,
    ...['noq', 'body.rs', 'counting_verifier.rs', 'options.rs', 'Cargo.toml', 'Cargo.lock'].map(
      (name) => `packages/bench/interop/${name}`,
    ),
  ],
  settings: (setup, arm) => parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema }),
  async run(setup, context) {
    const { bytes, paths } = optionsSchema.parse(setup.options);
    const arms = armsOf(setup, settingsSchema);
    const downloads = await openDownloads(bytes, context.progress);
    try {
      const versions = { noq: downloads.noqVersion };
      const measured = await finishRounds(context, versions, async (inTurn) => {
        const samples: RoundSample[] = [];
        for (const { arm, server, client } of inTurn(arms)) {
          for (const count of paths) {
            const mbps = await downloadOnce(downloads, { server, client, paths: count });
            samples.push({ arm, at: { paths: count }, values: { goodput_gbps: mbps / 1000 } });
          }
        }
        return samples;
      });
      return { ...measured, skipped: [] };
    } finally {
      await downloads.close();
    }
  },
};
