import { readdirSync, readlinkSync } from 'node:fs';

/** Inodes of the sockets that a process has */
export const socketsOf = (pid: number): number[] =>
  readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    const [, inode] = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? [];
    return inode === undefined ? [] : [Number(inode)];
  });
