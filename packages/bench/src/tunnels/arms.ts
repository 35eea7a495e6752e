import { z } from 'zod';
import { OBEDIENCE, TUNNEL_CONTROLLERS, TUNNEL_MODES } from './simulated_tunnels.js';

/** Settings of an arm. What is not named is off, or as it is in the paper. */
export const tunnelArmSchema = z.strictObject({
  mode: z.enum(TUNNEL_MODES),
  /** Streams of a group */
  streams: z.number().int().min(1).default(1),
  /** Congestion control of the tunnel */
  outer: z.enum(TUNNEL_CONTROLLERS),
  /** At the tunnel: `unbounded`, `codel`, or `bdp` for the bytes of one round trip through the tunnel */
  queue: z.enum(['unbounded', 'codel', 'bdp']).default('unbounded'),
  repeats_first: z.boolean().default(true),
  fair: z.boolean().default(false),
  tecc: z.enum(OBEDIENCE).default('off'),
  tecc_weight: z.number().min(0).max(1).default(0.5),
  tecc_additive: z.number().min(0).default(1),
  skips_outages: z.boolean().default(true),
  tolerates: z.boolean().default(true),
  warm_start: z.boolean().default(false),
  probes_steadily: z.boolean().default(false),
  idle_copies: z.number().int().min(0).max(3).default(0),
});
