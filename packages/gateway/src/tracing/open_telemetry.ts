import type * as OpenTelemetryApi from '@opentelemetry/api';

export type OpenTelemetry = typeof OpenTelemetryApi;

/** Loads the API of OpenTelemetry; undefined when it is not installed. */
export async function loadOpenTelemetry(): Promise<OpenTelemetry | undefined> {
  try {
    return await import('@opentelemetry/api');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}
