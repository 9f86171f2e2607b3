    {
        int best = 0, c;
        for (c = 1; c < ${P}_SCORES; ++c) {
            if (scores[c] > scores[best]) best = c;
        }
        return best;
    }