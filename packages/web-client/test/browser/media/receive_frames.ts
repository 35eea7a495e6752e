/** Runs in a page: subscribes to the video of a broadcast by `@moq/net`, and notes the hash of each frame. */
import * as Moq from '@moq/net';
import { announced, noteFrame, ownCertificate, type MediaPage } from './media_page.js';

const page = (window as unknown as { media: MediaPage }).media;

page.watch = async (url, name) => {
  const webtransport = await ownCertificate(page);
  const connection = await Moq.Connection.connect(new URL(url), { websocket: { enabled: false }, webtransport });
  page.version = connection.version;
  void connection.closed.then(() => (page.closed = true));
  await announced(connection, name);
  void receive(connection.consume(Moq.Path.from(name)).subscribe('video', { priority: 60 }));
};

async function receive(track: Moq.Track.Subscriber): Promise<void> {
  for (;;) {
    const group = await track.recvGroup();
    if (group === undefined) return;
    void (async () => {
      for (let index = 0; ; index += 1) {
        const frame = await group.readFrame();
        if (frame === undefined) return;
        noteFrame(page, track.name, group.sequence, index, frame.payload);
      }
    })();
  }
}
