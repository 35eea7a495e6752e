import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';

/** A network of its own, held by a process that sleeps in it. */
export class NetworkNamespace {
  private constructor(private readonly holder: ChildProcess) {}

  /** Why this machine has none, or undefined. */
  static missing(): string | undefined {
    const { status, error, stderr } = spawnSync('unshare', ['-n', 'sh', '-ec', 'ip link add left type veth peer name right; ip rule add from 192.0.2.1 table 100'], { encoding: 'utf8' });
    if (error) return `unshare cannot be run: ${error.message}`;
    return status === 0 ? undefined : `no network namespaces with veth and rules: ${stderr.trim()}`;
  }

  static make(): NetworkNamespace {
    const holder = spawn('unshare', ['-n', 'sleep', '600'], { stdio: 'ignore' });
    const namespace = new NetworkNamespace(holder);
    // The process is there at once, its namespace a moment later.
    const own = execFileSync('readlink', ['/proc/self/ns/net'], { encoding: 'utf8' });
    const theirs = (): string => execFileSync('readlink', [`/proc/${namespace.id}/ns/net`], { encoding: 'utf8' });
    for (let tries = 0; theirs() === own && tries < 200; tries++) execFileSync('sleep', ['0.01']);
    namespace.run('link set lo up');
    return namespace;
  }

  /** The id of the process that holds it. */
  get id(): number {
    return this.holder.pid ?? -1;
  }

  /** What starts a program in it. */
  get enter(): string[] {
    return ['nsenter', '-t', String(this.id), '-n'];
  }

  /** Runs `ip` in it. */
  run(command: string): void {
    const [program = '', ...args] = this.enter;
    execFileSync(program, [...args, 'ip', ...command.split(' ')], { stdio: ['ignore', 'ignore', 'inherit'] });
  }

  remove(): void {
    this.holder.kill('SIGKILL');
  }
}
