/** A Worker with no `queue()` handler: whoever hands it a batch reaches nobody. */
export default {
  fetch() {
    return new Response();
  },
};
