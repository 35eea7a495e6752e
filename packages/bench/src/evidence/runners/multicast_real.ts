import { z } from 'zod';
import { withLaboratory } from '../../multicast/real/laboratory.js';
import { ARM_NAMES, ARMS } from '../../multicast/real/plans.js';
import { figures } from '../../multicast/real/rows.js';
import { gatewayConfiguration } from '../../multicast/real/sheaf_transfer.js';
import { finishPlans, valuesOf } from './planned_rounds.js';
import { addonSources, armsOf, parseSettings, runnerModule, type Runner } from './runner.js';

const optionsSchema = z.strictObject({
  /** Size of the file */
  bytes: z.number().int().min(100_000),
  receivers: z.array(z.number().int().min(1).max(150)).min(1),
  /** Shares of the packets to receivers that are lost, in percent */
  loss_percents: z.array(z.number().min(0).max(20)).min(1),
  /** Rates in Mbit/s, of which each sender gets the one at which it is fastest */
  rates: z.array(z.number().min(1).max(1000)).min(1),
});

const settingsSchema = z.strictObject({ program: z.enum(ARM_NAMES) });

/** Measures one file to many receivers on hosts at a switch: by a channel, by unicast, by uftp and by NORM. */
export const multicastReal: Runner = {
  name: 'multicast-real',
  realTime: true,
  seeded: false,
  sources: [
    runnerModule('multicast_real.ts'),
    ...addonSources,
    'packages/bench/peers/multicast-norm',
    'fixtures/namespaces/network_namespace.mjs',
  ],
  settings(setup, arm) {
    const settings = parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema });
    const { program } = settings;
    const { sender } = ARMS[program];
    const isGateway = sender === 'channel' || sender === 'unicast';
    return {
      ...settings,
      ...ARMS[program],
      ...(isGateway && { configuration: gatewayConfiguration({ arm: program, rate_mbps: null }, 'files') }),
    };
  },
  async run(setup, context) {
    const { bytes, receivers, loss_percents: losses, rates } = optionsSchema.parse(setup.options);
    const named = armsOf(setup, settingsSchema);
    const options = { bytes, receivers, losses, rates, arms: named.map(({ program }) => program) };
    return withLaboratory(options, context, (laboratory) =>
      finishPlans(laboratory, context, {
        nameOf: ({ arm }) => arm,
        toSample: (plan, sample) => ({
          arm: named.find(({ program }) => program === plan.arm)?.arm ?? plan.arm,
          at: { receivers: plan.receivers, loss_percent: plan.loss_percent },
          values: valuesOf(figures, sample, bytes, plan.receivers),
        }),
      }),
    );
  },
};
