/** Exports tables of how browsers order the resources of a page. */
export { classOfDestination, type Placement, type Resource, type ResourceClass } from './resource.js';
export {
  DEFAULT_STYLE,
  FIRST_STREAM_NODE,
  STYLE_NAMES,
  createPrioritizer,
  isStyleName,
  type Prioritizer,
  type StyleName,
} from './styles.js';
