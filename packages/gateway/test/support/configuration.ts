import { parseConfiguration } from '../../src/configuration/load.js';
import { onlyGateway, type LoadedGateway } from '../../src/schema/loaded.js';

/** A configuration that describes one gateway. */
export function parseGateway(text: string, file: string): LoadedGateway {
  return onlyGateway(parseConfiguration(text, file));
}
