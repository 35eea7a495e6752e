import { z } from 'zod';
import { CIPHER_SUITE, loadClient, PROTOCOLS } from '../../http/load_clients.js';
import {
  configurationOf,
  GATEWAYS,
  measureGateway,
  openGateways,
  type GatewayName,
} from '../../http/measured_gateways.js';
import { finishRounds, type RoundSample } from './rounds.js';
import { addonSources, armsOf, parseSettings, runnerModule, type Runner } from './runner.js';

const optionsSchema = z.strictObject({
  protocol: z.enum(PROTOCOLS),
  /** Bytes of the large file, which is downloaded once in a round */
  bytes: z.number().int().min(1_000_000),
  /** Connections, each with one request for 1 KB in flight at a time */
  connections: z.number().int().min(1),
  /** Duration of these requests, about: a client that counts requests takes their number from the rate of a short run */
  seconds: z.number().min(0.5),
});

const settingsSchema = z.strictObject({ gateway: z.enum(GATEWAYS) });

/** Measures gateways that serve files on loopback, in turns. */
export const http: Runner = {
  name: 'http',
  realTime: true,
  seeded: false,
  sources: [runnerModule('http.ts'), ...addonSources, 'packages/bench/peers'],
  settings(setup, arm) {
    const settings = parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema });
    return { ...settings, cipher_suite: CIPHER_SUITE, configuration: configurationOf(settings.gateway) };
  },
  async run(setup, context) {
    const options = optionsSchema.parse(setup.options);
    const arms = new Map<GatewayName, string>(armsOf(setup, settingsSchema).map(({ arm, gateway }) => [gateway, arm]));
    const client = await loadClient(options.protocol, context.progress);
    const opened = await openGateways({ ...options, names: [...arms.keys()] }, context.progress);
    try {
      const versions = Object.fromEntries(opened.gateways.map(({ name, version }) => [name, version]));
      const measured = await finishRounds(context, versions, async (inTurn) => {
        const samples: RoundSample[] = [];
        for (const gateway of inTurn(opened.gateways)) {
          const values = await measureGateway(client, gateway, options);
          samples.push({ arm: arms.get(gateway.name) ?? gateway.name, at: {}, values: { ...values } });
        }
        return samples;
      });
      return {
        ...measured,
        skipped: opened.skipped.map(({ library, reason }) => `${library}: ${reason}`),
      };
    } finally {
      await opened.close();
    }
  },
};
