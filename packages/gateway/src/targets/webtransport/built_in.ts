import { echo } from './echo.js';
import type { WebTransportApplication } from './session.js';

/** Applications that a configuration can name without a module */
const builtIn: Readonly<Record<string, WebTransportApplication>> = { echo };

export const builtInNames: readonly string[] = Object.keys(builtIn);

export function isBuiltIn(application: string): boolean {
  return Object.hasOwn(builtIn, application);
}

export function builtInApplication(application: string): WebTransportApplication | undefined {
  return isBuiltIn(application) ? builtIn[application] : undefined;
}
