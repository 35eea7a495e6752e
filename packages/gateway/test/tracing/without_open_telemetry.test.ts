import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary_directory.js';
import { clientSpan, clientTrace, traced } from '../support/traces.js';

const program = join(import.meta.dirname, '..', 'support', 'without_open_telemetry.mjs');

it('a node passes the context on where the API of OpenTelemetry is not installed', async () => {
  const args = [program, await temporaryDirectory(), traced.traceparent];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const { installed, told } = JSON.parse(stdout) as { installed: boolean; told: string };
  expect(installed).toBe(false);
  expect(told).toMatch(new RegExp(`^00-${clientTrace}-[\\da-f]{16}-01$`));
  expect(told).not.toContain(clientSpan);
});
