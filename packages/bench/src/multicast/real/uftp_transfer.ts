import { basename, dirname, join } from 'node:path';
import { buildWithCmake } from '../../process/cmake.js';
import { endedChildrenSeconds, finerProcessorSeconds } from '../../process/processor_time.js';
import { Program } from '../../process/program.js';
import { peersDirectory } from '../../process/workspace.js';
import { DEVICE } from './lan.js';
import { hostOf, secondsSince, type Open, type Transfer, type TransferSetup } from './transfer.js';

const KBIT_PER_MBIT = 1000;
/** As libnorm and channels: as far as the system permits */
const SOCKET_BYTES = 4 * 1024 * 1024;
/** Where announcements go. The file goes to a group of its own. */
const PLACE = ['-M', '239.96.1.3', '-p', '5498', '-I', DEVICE, '-B', String(SOCKET_BYTES)];
/** Encrypts and authenticates packets with one key, which ECDH gives to each receiver: the fastest of its ways that do so */
const AUTHENTICATION = ['-Y', 'aes128-gcm', '-e', 'ecdh_ecdsa', '-h', 'sha256'];
/** Seconds that the sender assumes for a round trip first; 0.5 is for the Internet */
const ROUND_TRIP = '0.01';
/** Runs a program, tells that it has ended, and stays, since the kernel keeps the processor time of an ended child with its parent. */
const STAYS = 'setpriv --pdeathsig KILL "$@"; echo ended; read line';

const nameOf = (receiver: number): string => `0x${(receiver + 1).toString(16).padStart(8, '0')}`;

/** Builds what lets receivers of one host share their port. Each receiver is a process of its own. @throws UserError */
export async function prepareUftp(): Promise<Open> {
  const home = join(peersDirectory, 'multicast-uftp');
  await buildWithCmake(home, join(home, 'target'), [], 'shared-port');
  const preloaded = `LD_PRELOAD=${join(home, 'target', 'libshared-port.so')}`;
  return (setup) => openUftpTransfer(['env', preloaded, 'uftpd'], setup);
}

/** Starts receivers. The sender starts when it sends. */
async function openUftpTransfer(
  receiver: readonly string[],
  { lan, plan, file, copies, own }: TransferSetup,
): Promise<Transfer> {
  const receivers = copies.map((copy, index) => {
    const identity = ['-E', '-K', 'ec:prime256v1', '-U', nameOf(index)];
    const words = [...receiver, ...PLACE, ...identity, '-d', '-q', '-t', '-D', dirname(copy), '-F', '@LOG'];
    return own(new Program(words, hostOf(lan.receivers, index)));
  });
  await Promise.all(receivers.map((each) => each.prints(/Loaded ECDSA key/)));
  let source: Program | undefined;
  return {
    async send() {
      const options = ['-P', '239.96.2.3', '-R', String((plan.rate_mbps ?? 0) * KBIT_PER_MBIT), '-r', ROUND_TRIP];
      // Begins as soon as all of these receivers have answered its announcement.
      const group = ['-H', copies.map((_, index) => nameOf(index)).join(',')];
      const words = ['uftp', ...PLACE, ...options, ...AUTHENTICATION, ...group];
      // The receivers' name of the file is that of every copy.
      const named = ['-D', basename(copies[0] ?? ''), file];
      source = own(new Program(['sh', '-c', STAYS, 'sh', ...words, ...named], lan.source));
      await source.prints(/^Sending file/);
      const begun = performance.now();
      await Promise.all(receivers.map((each) => each.prints(/^RESULT;.*;copied$/)));
      const seconds = secondsSince(begun);
      await source.prints(/^ended$/);
      return seconds;
    },
    source: () => (source ? endedChildrenSeconds(source.pid) : 0),
    receivers: () => finerProcessorSeconds(receivers.map(({ pid }) => pid)),
  };
}
