import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';

/** The two ECN bits of a packet (RFC 3168 §5) */
export const ecn = { none: 0, ect1: 1, ect0: 2, ce: 3 } as const;

export interface MarkedPacket {
  /** UDP port of the other side, on 127.0.0.1 */
  port: number;
  ecn: number;
  /** In Latin 1 */
  text: string;
}

/** A UDP socket of 127.0.0.1 whose packets have marks, which those of Node have not; closes with the test. */
export interface MarkedSocket {
  port: number;
  send(packet: MarkedPacket): void;
  /** Resolves with the next packet. */
  next(): Promise<MarkedPacket>;
}

export async function openMarkedSocket(): Promise<MarkedSocket> {
  const program = spawn('python3', ['-u', join(import.meta.dirname, 'marked_udp.py')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void program.kill());
  const lines = createInterface({ input: program.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<MarkedPacket> => {
    const line = await lines.next();
    if (line.done === true) throw new Error('the socket is closed');
    return JSON.parse(line.value) as MarkedPacket;
  };
  const { port } = await next();
  return { port, next, send: (packet) => void program.stdin.write(`${JSON.stringify(packet)}\n`) };
}
