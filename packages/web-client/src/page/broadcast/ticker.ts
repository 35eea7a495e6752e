/** A worker that tells the time at even intervals, since pages in the background get their timers once a second */
const { interval } = Object.fromEntries(new URLSearchParams(location.search));
setInterval(() => postMessage(undefined), Number(interval));
