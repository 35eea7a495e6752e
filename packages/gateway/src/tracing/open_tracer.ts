import { randomFillSync } from 'node:crypto';
import type { Tracer } from '../http/tracer.js';
import type { TracingOptions } from '../schema/tracing.js';
import { loadOpenTelemetry } from './open_telemetry.js';
import { pooledRandom } from './random_pool.js';
import { RequestTracer } from './request_tracer.js';

/** Returns what traces the requests of a node; undefined when its configuration does not ask for that. */
export async function openTracer(options: TracingOptions | undefined): Promise<Tracer | undefined> {
  return (
    options && new RequestTracer({ ...options, api: await loadOpenTelemetry(), random: pooledRandom(randomFillSync) })
  );
}
