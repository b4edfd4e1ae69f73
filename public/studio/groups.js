/** The group of pops that name none. */
const QUEUE_MODE = "__QUEUE_MODE__";

/** @param {string} group */
export function groupName(group) {
  return group === QUEUE_MODE ? "none (queue mode)" : group;
}
