/** Runs in a page: plays a playlist by hls.js. */
import Hls from 'hls.js';
import type { MediaPage } from './media_page.js';

const page = (window as unknown as { media: MediaPage }).media;

page.watch = (url) => {
  const video = document.body.appendChild(document.createElement('video'));
  video.muted = true;
  const hls = new Hls({ lowLatencyMode: true });
  hls.on(Hls.Events.ERROR, (_event, { details, fatal, reason }) => {
    page.error = `${fatal ? 'fatal ' : ''}${details} ${reason ?? ''}`;
  });
  const parts = new Set<string>();
  hls.on(Hls.Events.FRAG_LOADED, (_event, { part }) => {
    if (part) parts.add(part.url);
  });
  hls.on(Hls.Events.MANIFEST_PARSED, () => void video.play());
  hls.loadSource(url);
  hls.attachMedia(video);
  page.framesShown = () => video.getVideoPlaybackQuality().totalVideoFrames;
  page.soundDecoded = () => (video as unknown as { webkitAudioDecodedByteCount: number }).webkitAudioDecodedByteCount;
  page.partsLoaded = () => parts.size;
  page.latency = () => hls.latency;
  return Promise.resolve();
};
