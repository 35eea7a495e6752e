/** Runs in a page: shows the pictures of a broadcast that its publisher signed, whatever node brings them. */
import * as Moq from '@moq/net';
import type { VerifiedEvent } from '@sheaf/web-client/signed-media';
import { noteFrame, ownCertificate, type MediaPage } from './media_page.js';
import type { Order, WorkerMessage } from './verify_worker.js';

const page = (window as unknown as { media: MediaPage }).media;

page.watch = async (url, name) => {
  const webtransport = await ownCertificate(page);
  const { publicKey, withoutEd25519 = false } = page;
  const worker = new Worker('/verify_worker.js', { type: 'module' });
  page.wholeGroups = 0;
  let show: ReturnType<typeof screen> | undefined;
  worker.onmessage = ({ data }: MessageEvent<WorkerMessage>): void => {
    if (data.kind === 'codec') show = screen(data.codec);
    else if (data.kind === 'failed') page.error = data.error;
    else {
      page.counts = data.counts;
      if (data.kind === 'event') show?.(data.event);
      else if (data.error !== undefined) page.error = data.error;
    }
  };
  const order: Order = { url, name, webtransport, publicKey: publicKey!, withoutEd25519 };
  worker.postMessage(order);
};

/** Returns a function that shows verified frames. A picture behind a gap is not decoded, since it needs those before it. */
function screen(codec: string): (event: VerifiedEvent) => void {
  const canvas = document.body.appendChild(document.createElement('canvas'));
  let shown = 0;
  page.framesShown = () => shown;
  const decoder = new VideoDecoder({
    error: (error) => (page.error = String(error)),
    output: (picture) => {
      [canvas.width, canvas.height] = [picture.displayWidth, picture.displayHeight];
      canvas.getContext('2d')!.drawImage(picture, 0, 0);
      picture.close();
      shown += 1;
    },
  });
  decoder.configure({ codec });
  let next = { group: -1, index: 0 };
  return (event) => {
    if (event.kind === 'end') {
      if (event.complete) page.wholeGroups! += 1;
      return;
    }
    const { group, index, payload } = event;
    noteFrame(page, 'video', group, index, payload);
    const begins = index === 0 && group > next.group;
    if (!begins && (group !== next.group || index !== next.index)) return;
    next = { group, index: index + 1 };
    const [timestamp, data] = Moq.Varint.decode(payload);
    decoder.decode(new EncodedVideoChunk({ type: begins ? 'key' : 'delta', timestamp, data }));
  };
}
