import { z } from 'zod';
import { withLaboratory, withServedSite } from '../../tunnels/real/laboratory.js';
import { ARM_NAMES, ARMS, type ProxyName } from '../../tunnels/real/plans.js';
import { gatewayConfiguration, proxyRoutes } from '../../tunnels/real/programs.js';
import { figures } from '../../tunnels/real/rows.js';
import { finishPlans, valuesOf } from './planned_rounds.js';
import { addonSources, armsOf, parseSettings, runnerModule, type Runner } from './runner.js';

const optionsSchema = z.strictObject({
  /** All downloads of a run together */
  bytes: z.number().int().min(100_000),
  /** Numbers of downloads at one time */
  clients: z.array(z.number().int().min(1).max(200)).min(1),
  /** Shares of one processor that the proxy may use; 1: it is not limited */
  quotas: z.array(z.number().min(0.01).max(1)).min(1),
});

const settingsSchema = z.strictObject({ program: z.enum(ARM_NAMES) });

/** What the programs of tunnels are made of, beside our own */
export const tunnelSources = ['packages/bench/interop/go/masque', 'packages/bench/interop/go/shared'];

/** What each proxy is configured with, without ports and files of the machine */
const configurations: Readonly<Record<ProxyName | 'none', unknown>> = {
  sheaf: gatewayConfiguration(0, { cert: 'cert', key: 'key' }, proxyRoutes(0)),
  'masque-go': 'masque.Proxy, every target, packets of 1350 bytes at first',
  none: 'none',
};

/** Downloads through tunnels of processes on loopback: through the gateway, through masque-go's proxy, and through none. */
export const tunnelsReal: Runner = {
  name: 'tunnels-real',
  realTime: true,
  seeded: false,
  sources: [runnerModule('tunnels_real.ts'), ...addonSources, ...tunnelSources],
  settings(setup, arm) {
    const settings = parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema });
    const programs = ARMS[settings.program];
    return { ...settings, ...programs, configuration: configurations[programs.proxy] };
  },
  run(setup, context) {
    const { bytes, clients, quotas } = optionsSchema.parse(setup.options);
    const named = armsOf(setup, settingsSchema);
    const options = { bytes, clients, quotas, arms: named.map(({ program }) => program) };
    return withServedSite(options, (served) =>
      withLaboratory(served, options, context, (laboratory) =>
        finishPlans(laboratory, context, {
          nameOf: ({ arm }) => arm,
          toSample: (plan, sample) => ({
            arm: named.find(({ program }) => program === plan.arm)?.arm ?? plan.arm,
            at: { clients: plan.clients, quota: plan.quota },
            values: valuesOf(figures, sample, bytes),
          }),
        }),
      ),
    );
  },
};
