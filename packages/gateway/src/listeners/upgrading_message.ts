import { IncomingMessage } from 'node:http';
import { upgradesOf } from './node_streams.js';

/**
 * Returns a class of requests of which only those for certain protocols upgrade. All others are answered as if they had not asked,
 * which a server may do (RFC 9110 §7.8): with anybody who listens for upgrades, Node would hand over the connection of each request
 * that asks for one, such as `h2c`.
 */
export function upgradingMessage(protocols: { has(name: string): boolean }): typeof IncomingMessage {
  return class extends IncomingMessage {
    /** What Node's parser says. Not initialized here: the constructor of Node sets it. */
    declare private asked: boolean | null;

    set upgrade(asked: boolean | null) {
      this.asked = asked;
    }
    get upgrade(): boolean {
      return this.asked === true && (this.method === 'CONNECT' || upgradesOf(this).some((name) => protocols.has(name)));
    }
  };
}
