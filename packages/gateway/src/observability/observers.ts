import type { RequestObserver } from '../http/request_handler.js';
import type { SessionObserver } from '../targets/webtransport/session_server.js';

export type Observer = RequestObserver & SessionObserver;

/** Informs each observer in turn. */
export function combineObservers(observers: readonly Observer[]): Observer {
  return {
    requestStarted: () => observers.forEach((observer) => observer.requestStarted()),
    requestEnded: (record) => observers.forEach((observer) => observer.requestEnded(record)),
    sessionStarted: (route) => observers.forEach((observer) => observer.sessionStarted(route)),
    sessionEnded: (record) => observers.forEach((observer) => observer.sessionEnded(record)),
    applicationFailed: (route) => observers.forEach((observer) => observer.applicationFailed(route)),
    sessionRefused: (record) => observers.forEach((observer) => observer.sessionRefused(record)),
  };
}
