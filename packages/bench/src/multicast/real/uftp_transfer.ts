import { basename, dirname } from 'node:path';
import { endedChildrenSeconds, finerProcessorSeconds } from '../../process/processor_time.js';
import { DEVICE } from './lan.js';
import { Program } from './program.js';
import { hostOf, secondsSince, type Transfer, type TransferSetup } from './transfer.js';

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

/** Starts receivers of uftp, each in a process of its own. The sender starts when it sends. @throws UserError */
export async function openUftpTransfer({ lan, plan, file, copies, own }: TransferSetup): Promise<Transfer> {
  const receivers = copies.map((copy, index) => {
    const words = [
      '-d',
      '-q',
      '-t',
      '-E',
      '-U',
      nameOf(index),
      '-D',
      dirname(copy),
      '-F',
      '@LOG',
      '-K',
      'ec:prime256v1',
    ];
    return own(new Program(hostOf(lan.receivers, index), ['uftpd', ...PLACE, ...words]));
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
      source = own(new Program(lan.source, ['sh', '-c', STAYS, 'sh', ...words, ...named]));
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
