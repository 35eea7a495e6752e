import type { ResolveHook } from 'node:module';

const replaced = '@fails-components/webtransport-transport-http3-quiche';
const replacement = new URL('./library_transport.js', import.meta.url).href;

export const resolve: ResolveHook = async (specifier, context, nextResolve) =>
  specifier === replaced ? { url: replacement, shortCircuit: true } : nextResolve(specifier, context);
