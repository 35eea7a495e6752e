import { z } from 'zod';
import { describeFloodPlan, FLOODED, withFloodLaboratory } from '../../tunnels/real/flood.js';
import { withServedSite } from '../../tunnels/real/laboratory.js';
import { finishPlans } from './planned_rounds.js';
import { addonSources, armsOf, parseSettings, runnerModule, type Runner } from './runner.js';
import { tunnelSources } from './tunnels_real.js';

const optionsSchema = z.strictObject({
  /** That a hostile client sends, each with a context id that nobody knows */
  datagrams: z.number().int().min(1),
});

const settingsSchema = z.strictObject({ flooded: z.enum(FLOODED) });

/** Downloads through a tunnel of a gateway while a hostile client floods this gateway, another one, or none. */
export const tunnelsFlood: Runner = {
  name: 'tunnels-flood',
  realTime: true,
  seeded: false,
  sources: [runnerModule('tunnels_flood.ts'), ...addonSources, ...tunnelSources],
  settings: (setup, arm) => parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema }),
  run(setup, context) {
    const { datagrams } = optionsSchema.parse(setup.options);
    const named = armsOf(setup, settingsSchema);
    return withServedSite({ bytes: 0, clients: [] }, (served) =>
      withFloodLaboratory(served, { datagrams, runs: context.runs }, context.stop, (laboratory) =>
        finishPlans(laboratory, context, {
          nameOf: describeFloodPlan,
          toSample: ({ load, flooded }, { goodput_mbps }) => ({
            arm: named.find((arm) => arm.flooded === flooded)?.arm ?? flooded,
            at: { load },
            values: { goodput_mbps },
          }),
        }),
      ),
    );
  },
};
