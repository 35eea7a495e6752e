/** Runs in a page: the player of `@moq/watch`, which nobody here wrote. */
import MoqWatch from '@moq/watch/element';
import { ownCertificate, type MediaPage } from './media_page.js';

const page = (window as unknown as { media: MediaPage }).media;

page.watch = async (url, name) => {
  const player = new MoqWatch();
  player.connection.webtransport = await ownCertificate(page);
  player.connection.websocket = { enabled: false };
  const canvas = document.createElement('canvas');
  player.append(canvas);
  player.visible = 'always';
  document.body.append(player);
  player.url = url;
  player.name = name;
  page.framesShown = () => player.video.out.stats.peek()?.frameCount ?? 0;
};
