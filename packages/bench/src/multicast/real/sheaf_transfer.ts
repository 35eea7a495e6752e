import { dirname, join } from 'node:path';
import { CalledProcess } from '../../process/called_process.js';
import { finerProcessorSeconds } from '../../process/processor_time.js';
import { SOURCE_ADDRESS } from './lan.js';
import { ARMS, type Plan } from './plans.js';
import type { ReceiversCall, ReceiverTask } from './receivers_process.js';
import type { SourceCall } from './source_process.js';
import { hostOf, secondsSince, type Transfer, type TransferSetup } from './transfer.js';

const PORT = 4433;
const ADMIN = '127.0.0.1:9433';
const CHANNEL = 'file';
/** Bytes in a second for each Mbit/s */
const BYTES_PER_MBIT = 125_000;

/** Returns the configuration of the gateway, which serves the file as a channel or as a download from a directory. */
export function gatewayConfiguration({ arm, rate_mbps }: Pick<Plan, 'arm' | 'rate_mbps'>, files: string) {
  const gateway = { listen: `${SOURCE_ADDRESS}:${PORT}`, admin: ADMIN, log: { level: 'warn' } };
  const { sender, authentication } = ARMS[arm];
  if (sender !== 'channel') return { ...gateway, routes: [{ path: '/', files }] };
  const channel = {
    group: '232.96.1.1:5496',
    source: SOURCE_ADDRESS,
    rate: `${(rate_mbps ?? 0) * BYTES_PER_MBIT}B`,
    authentication,
    // A file is worth as much when it is late.
    deadline: '30s',
  };
  return { ...gateway, channels: { [CHANNEL]: channel }, routes: [{ path: '/', channel: CHANNEL }] };
}

/** Starts a gateway and its receivers, those of a host in one process, and sends the file once. @throws UserError */
export async function openSheafTransfer({ lan, plan, file, copies, own }: TransferSetup): Promise<Transfer> {
  const isChannel = ARMS[plan.arm].sender === 'channel';
  const source = own(
    new CalledProcess<SourceCall>('the gateway', join(import.meta.dirname, 'source_process.js'), lan.source.enter),
  );
  const tasks = copies.map((copy): ReceiverTask =>
    isChannel
      ? { host: SOURCE_ADDRESS, port: PORT, path: '/', way: 'channel', copy }
      : { host: SOURCE_ADDRESS, port: PORT, path: '/sent', way: 'download', copy },
  );
  const used = lan.receivers.slice(0, tasks.length);
  const receivers = used.map((host, number) => ({
    process: own(
      new CalledProcess<ReceiversCall>(
        `the receivers of host ${number + 1}`,
        join(import.meta.dirname, 'receivers_process.js'),
        host.enter,
      ),
    ),
    tasks: tasks.filter((_, index) => hostOf(used, index) === host),
  }));
  const configuration = JSON.stringify(gatewayConfiguration(plan, dirname(file)));
  await source.call({ type: 'start', configuration, file: `${file}.yaml` });
  await Promise.all(receivers.map(({ process, tasks: ownTasks }) => process.call({ type: 'join', tasks: ownTasks })));
  const send = async (): Promise<number> => {
    const begun = performance.now();
    const work = receivers.map(({ process }) => process.call({ type: 'receive' }));
    if (isChannel) work.push(source.call({ type: 'publish', channel: CHANNEL, admin: ADMIN, file }));
    await Promise.all(work);
    return secondsSince(begun);
  };
  // A process that has just begun compiles its JavaScript. One that has done the same before has done so.
  await send();
  return {
    send,
    source: () => finerProcessorSeconds([source.pid]),
    receivers: () => finerProcessorSeconds(receivers.map(({ process }) => process.pid)),
  };
}
