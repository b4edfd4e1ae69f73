/** What the broker of these tests has for WAGGLE_KEYS: two keys, as in the middle of a rotation. */
export const KEYS = {
  new: "bmV3LW5ldy1uZXctbmV3LW5ldy1uZXctbmV3LW5ldy0",
  old: "b2xkLW9sZC1vbGQtb2xkLW9sZC1vbGQtb2xkLW9sZC0",
};
