import { alertFile, exitCodes, grafanaDashboard } from '@sheaf/gateway';
import type { Command } from '../command.js';
import { printLine, write } from '../world.js';

interface DashboardOptions {
  alerts: boolean;
}

export const dashboard: Command<DashboardOptions> = {
  usage: 'dashboard',
  summary: 'Print a dashboard for Grafana, or alert rules for Prometheus',
  options: (yargs) =>
    yargs
      .option('alerts', { type: 'boolean', default: false, describe: 'Print the alert rules' })
      .example('$0 dashboard > sheaf.json', 'Write the dashboard to a file, which Grafana imports')
      .example('$0 dashboard --alerts > sheaf.rules.yaml', 'Write the rules to a file for `rule_files`'),
  async run({ alerts }, world) {
    if (alerts) await write(world.stdout, alertFile());
    else await printLine(world.stdout, JSON.stringify(grafanaDashboard(), undefined, 2));
    return exitCodes.success;
  },
};
